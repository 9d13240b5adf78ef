"""kornia: filters, geometry, colours, losses and augmentations of images, with gradients."""

import kornia
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 16, 16, requires_grad=True)
blurred = kornia.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5))
turned = kornia.geometry.rotate(blurred, torch.tensor([90.0]))
assert torch.allclose(turned, blurred.rot90(1, (2, 3)), atol=1e-4)
kornia.filters.sobel(turned).mean().backward()
assert image.grad.abs().sum() > 0
there_and_back = kornia.color.hsv_to_rgb(kornia.color.rgb_to_hsv(image))
assert torch.allclose(there_and_back, image, atol=1e-4)
assert torch.allclose(kornia.augmentation.RandomHorizontalFlip(p=1.0)(image), image.flip(3))
assert kornia.losses.ssim_loss(image, image, 5).abs() < 1e-4
assert torch.allclose(kornia.geometry.homography_warp(image, torch.eye(3)[None], (16, 16)), image, atol=1e-4)

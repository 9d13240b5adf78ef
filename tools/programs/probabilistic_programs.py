"""Pyro: the posterior of a coin by variational inference and by Hamiltonian Monte Carlo."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.optim import Adam

pyro.set_rng_seed(0)
data = torch.tensor([1.0] * 6 + [0.0] * 4)


def model(data):
    fairness = pyro.sample("fairness", dist.Beta(torch.tensor(10.0), torch.tensor(10.0)))
    with pyro.plate("tosses", len(data)):
        pyro.sample("toss", dist.Bernoulli(fairness), obs=data)


def guide(data):
    heads = pyro.param("heads", torch.tensor(15.0), constraint=dist.constraints.positive)
    tails = pyro.param("tails", torch.tensor(15.0), constraint=dist.constraints.positive)
    pyro.sample("fairness", dist.Beta(heads, tails))


inference = SVI(model, guide, Adam({"lr": 0.01}), loss=Trace_ELBO())
for _ in range(300):
    inference.step(data)
mean = pyro.param("heads") / (pyro.param("heads") + pyro.param("tails"))
assert abs(mean.item() - 16 / 30) < 0.05, mean
chain = MCMC(NUTS(model), num_samples=100, warmup_steps=50, disable_progbar=True)
chain.run(data)
assert abs(chain.get_samples()["fairness"].mean().item() - 16 / 30) < 0.06

"""Arrays that track the inputs each element depends on: they find the patterns of Jacobians and Hessians."""

"""Arrays that know which inputs each of their elements depends on: how patterns of Jacobians and Hessians are found."""

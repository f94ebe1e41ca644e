"""Field cases: faulty kernels and their repairs."""

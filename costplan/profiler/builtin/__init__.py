"""Small real models with real loaders, for a first look at a box without a script."""

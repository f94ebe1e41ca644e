"""The estimate of a launch's time: what its instructions ask for, where its requests go, how long a GPU takes."""

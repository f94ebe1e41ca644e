"""One store suite, two databases."""

import itertools

import pytest

from grader.stores import open_store
from tests.grader.stores.postgres import postgres_server

NUMBER = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/class.db"
    server = request.getfixturevalue("postgres")
    import psycopg

    name = f"class_{next(NUMBER)}"
    plain = server.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def store(url):
    with open_store(url) as opened:
        yield opened

"""One store suite, two databases. Each kind is migrated once; every test gets a copy of that empty store."""

import itertools
import shutil

import pytest

from grader.stores import open_store
from tests.grader.stores.postgres import postgres_server

NUMBER = itertools.count()
EMPTY = "empty_class"


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory):
    path = tmp_path_factory.mktemp("stores") / "empty.db"
    open_store(str(path)).close()
    return path


@pytest.fixture(scope="session")
def postgres():
    """(URL of a server's own database, statement → None that runs on it)."""
    import psycopg

    with postgres_server() as url:

        def run(statement):
            with psycopg.connect(url.replace("postgresql+psycopg", "postgresql"), autocommit=True) as connection:
                connection.execute(statement)

        run(f"CREATE DATABASE {EMPTY}")
        open_store(database(url, EMPTY)).close()
        yield url, run


def database(url, name):
    """The URL of another database of the same server."""
    return url.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty store in each kind of database."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("empty_sqlite"), tmp_path / "class.db")
        return f"sqlite:///{tmp_path}/class.db"
    return new_database(*request.getfixturevalue("postgres"), EMPTY)


@pytest.fixture(params=["sqlite", "postgresql"])
def bare_url(request, tmp_path):
    """The URL of a database without a table in each kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/class.db"
    return new_database(*request.getfixturevalue("postgres"), "template0")


def new_database(server, run, template):
    """The URL of a copy of the database `template`."""
    name = f"class_{next(NUMBER)}"
    run(f"CREATE DATABASE {name} TEMPLATE {template}")
    return database(server, name)


@pytest.fixture
def store(url):
    with open_store(url) as opened:
        yield opened

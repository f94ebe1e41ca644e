"""Alembic's migrations of a store, from the first release on; `grader.stores.sql_schema` runs them."""

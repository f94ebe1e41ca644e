"""Alembic's way in: runs the steps on the connection that `sql_schema` hands over."""

from alembic import context

from grader.stores.sql_tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()

"""PTX text → `Module`: lexer, parser, types, source lines and control flow."""

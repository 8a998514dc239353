"""Stands for lark-oapi, which imports so much that the adapter does not run this file."""

raise ImportError("this takes ten seconds")

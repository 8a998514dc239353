"""Stands for ddgs."""

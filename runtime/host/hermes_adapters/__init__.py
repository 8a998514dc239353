"""Adapters: each makes tools of one SDK. Importing one is cheap; load() imports its SDK."""

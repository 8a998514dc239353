class BaseSearchEngine:
    pass

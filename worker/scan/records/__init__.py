"""Records: the results of reading pages, as rows of Parquet. No index, no verdict."""

"""Records: what reading a page comes to, as rows of Parquet. No index, no verdict."""

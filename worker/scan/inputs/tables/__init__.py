"""Files of rows with named fields: JSON lines and arrays, CSV, Parquet."""

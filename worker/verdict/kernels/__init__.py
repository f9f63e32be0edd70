"""What is done with each claim before it is judged, compiled: ``titles`` tells which texts are their site's."""

"""What ``python -m worker demo`` crawls, runs and checks: a site written for it, a spider, and what must come out."""

"""The parts of ``python -m worker demo``: a site written for it, a spider, and the results that must come out."""

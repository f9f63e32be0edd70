"""The only place where the parts are put together: settings become a worker, on the present machine."""

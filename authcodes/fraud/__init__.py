"""Signs that codes were copied or products faked."""

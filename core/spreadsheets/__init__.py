"""CSV and XLSX files."""

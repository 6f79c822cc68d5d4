"""How the portal writes days and times, by language; Django's own English is American and leaves the zone out."""

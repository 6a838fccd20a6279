"""Recordings as datasets: made with consent, rid of whoever has not agreed, labelled by hand, replayed and compared."""

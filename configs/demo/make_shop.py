"""Make the small shop database that `make demo` synchronises: five tables, the same rows each time."""

from __future__ import annotations

import random
import shutil
import sqlite3
import sys
from datetime import datetime, timedelta
from pathlib import Path

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, city TEXT, joined DATE);
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT NOT NULL, category TEXT, price DECIMAL(10, 2) NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, status TEXT NOT NULL, placed TIMESTAMP);
CREATE TABLE order_items (order_id INTEGER NOT NULL, line INTEGER NOT NULL, product_id INTEGER NOT NULL,
                          quantity INTEGER NOT NULL, price DECIMAL(10, 2) NOT NULL, PRIMARY KEY (order_id, line));
CREATE TABLE reviews (id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL, stars INTEGER NOT NULL, text TEXT);
"""
CITIES = ["Lisboa", "Zürich", "Kraków", "São Paulo", "Göteborg", "北京", None]
WORDS = ["solid", "broke", "lovely", "ok", "«wow»", "meh", "again!", "naïve", "five\nstars"]
START = datetime(2024, 1, 1)  # noqa: DTZ001 - the database has no zones


def rows(draw: random.Random) -> dict[str, list[tuple[object, ...]]]:
    """All rows by table."""
    customers: list[tuple[object, ...]] = [
        (n, f"Customer {n}", f"c{n}@example.org", draw.choice(CITIES), str((START + timedelta(days=n % 700)).date()))
        for n in range(1, 2_001)
    ]
    prices = {n: round(draw.uniform(1, 400), 2) for n in range(1, 501)}
    products: list[tuple[object, ...]] = [
        (n, f"Product {n}", draw.choice(["tea", "books", "tools", None]), price) for n, price in prices.items()
    ]
    orders: list[tuple[object, ...]] = []
    items: list[tuple[object, ...]] = []
    for n in range(1, 20_001):
        placed = START + timedelta(minutes=37 * n)
        orders.append((n, draw.randint(1, 2_000), draw.choice(["paid", "sent", "cancelled"]), str(placed)))
        for line in range(1, draw.randint(2, 5)):
            product = draw.randint(1, 500)
            items.append((n, line, product, draw.randint(1, 9), prices[product]))
    reviews: list[tuple[object, ...]] = [
        (n, draw.randint(1, 500), draw.randint(1, 5), " ".join(draw.choices(WORDS, k=4))) for n in range(1, 5_001)
    ]
    return {"customers": customers, "products": products, "orders": orders, "order_items": items, "reviews": reviews}


def main(directory: Path) -> None:
    """Start from an empty directory, so that the demo shows the same thing every time."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with sqlite3.connect(directory / "shop.db") as connection:
        connection.executescript(SCHEMA)
        for table, found in rows(random.Random(7)).items():
            marks = ", ".join("?" * len(found[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
    connection.close()
    print(f"made {directory / 'shop.db'}: a shop with five tables")  # noqa: T201 - a script for people


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The shell command with which the agent keeps what the program prints, to compare it later."""

ORDERS = "0001 0017 0029"


def save_texts(folder: str) -> str:
    """Write two reports and three invoices into a folder of `$TMPDIR`, and stay there."""
    return (
        f'run() {{ (cd "$OLDPWD" && PYTHONPATH=src python -m inventory.cli "$@"); }}\n'
        f'mkdir -p "$TMPDIR/{folder}" && cd "$TMPDIR/{folder}"\n'
        f"for report in stock reorder; do run report $report > $report.txt; done\n"
        f"for number in {ORDERS}; do\n"
        f"  run invoice data/orders/ORD-$number.json > invoice-$number.txt\n"
        f"done"
    )

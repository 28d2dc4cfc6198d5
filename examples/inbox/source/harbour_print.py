"""Draws `mail/1-invoice-harbour-print.pdf`, the PDF of the example folder.

    pip install reportlab==4.* && python3 harbour_print.py ../mail/1-invoice-harbour-print.pdf

The output is the same, byte for byte, at each run. Names and addresses are invented.
"""

import sys

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=9.5, leading=13)
SMALL = ParagraphStyle("small", parent=BODY, fontSize=8, leading=11, textColor=colors.HexColor("#444444"))
HEAD = ParagraphStyle("head", fontName="Helvetica-Bold", fontSize=18, leading=22)
BOLD = ParagraphStyle("bold", parent=BODY, fontName="Helvetica-Bold")
RULE = colors.HexColor("#1d4e6b")


def text(*lines, style=BODY):
    return Paragraph("<br/>".join(lines), style)


def main(path):
    page = SimpleDocTemplate(
        path,
        pagesize=A4,
        leftMargin=20 * mm,
        rightMargin=20 * mm,
        topMargin=18 * mm,
        bottomMargin=18 * mm,
        title="Invoice HP-2026-0417",
        author="Harbour Print Ltd",
        invariant=1,
    )
    letterhead = Table(
        [[text("Harbour Print Ltd", style=HEAD), text("INVOICE", style=HEAD)]],
        colWidths=[125 * mm, 45 * mm],
        style=TableStyle([("LINEBELOW", (0, 0), (-1, 0), 1.2, RULE), ("LEFTPADDING", (0, 0), (-1, -1), 0)]),
    )
    imprint = text(
        "3 Quay Street, Westhaven WH2 4PT &nbsp;|&nbsp; accounts@harbour-print.example &nbsp;|&nbsp; "
        "Tel. 555 0142 &nbsp;|&nbsp; VAT no. WX 204 8816 07",
        style=SMALL,
    )
    addresses = Table(
        [
            [
                text(
                    "<b>Bill to</b>",
                    "Larkfield Community Trust",
                    "Attn. Ines Marlow",
                    "The Old Corn Hall, 12 Mill Lane",
                    "Larkfield LK1 7RD",
                ),
                text(
                    "<b>Invoice number:</b> HP-2026-0417",
                    "<b>Invoice date:</b> 14 October 2026",
                    "<b>Customer number:</b> 30718",
                    "<b>Your order:</b> LCT/88 (by telephone)",
                    "<b>Delivered:</b> 9 October 2026",
                ),
            ]
        ],
        colWidths=[95 * mm, 75 * mm],
        style=TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)]),
    )
    rows = [
        ["Pos.", "Description", "Quantity", "Unit price", "Amount EUR"],
        ["1", text("Concert programme, A5, 32 pages, stapled,", "full colour on 115 g silk"), "500", "1.42", "710.00"],
        ["2", text("Poster, A2, full colour on 150 g gloss"), "60", "3.15", "189.00"],
        ["3", text("Leaflet, A4 folded to DL, recycled paper"), "1,000", "0.085", "85.00"],
        ["4", text("Delivery by van to Mill Lane"), "1", "20.00", "20.00"],
        ["", "", "", "Net total", "1,004.00"],
        ["", "", "", "VAT 20 %", "200.80"],
        ["", "", "", "Total due", "EUR 1,204.80"],
    ]
    items = Table(
        rows,
        colWidths=[12 * mm, 82 * mm, 22 * mm, 26 * mm, 28 * mm],
        style=TableStyle(
            [
                ("FONT", (0, 0), (-1, -1), "Helvetica", 9.5),
                ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9.5),
                ("FONT", (3, -1), (-1, -1), "Helvetica-Bold", 10.5),
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e6eef3")),
                ("LINEBELOW", (0, 0), (-1, 4), 0.4, colors.HexColor("#b0bec5")),
                ("LINEABOVE", (3, -1), (-1, -1), 1, RULE),
                ("ALIGN", (2, 0), (-1, -1), "RIGHT"),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        ),
    )
    terms = text(
        "Payment within 30 days without deduction: please pay the total by <b>13 November 2026</b> to our account "
        "at Westhaven Savings Bank, IBAN XX00 0000 0417 2026 0001, and quote the invoice number. From the day "
        "after, we charge interest of 0.5 % a month and a reminder fee of EUR 5.00.",
    )
    remarks = text(
        "The printing plates stay with us for a year; a reprint of the programme from the same plates costs 15 % "
        "less. Complaints about quality or quantity please within eight days of delivery. Goods remain our property "
        "until they are paid for in full. Thank you for your order, and we wish you a full house.",
    )
    footer = text(
        "Harbour Print Ltd, registered in Westhaven under no. 77 1406. Managing director: Aldo Renshaw.", style=SMALL
    )
    page.build(
        [
            letterhead,
            Spacer(1, 2 * mm),
            imprint,
            Spacer(1, 9 * mm),
            addresses,
            Spacer(1, 9 * mm),
            text("For the printed matter of your autumn concert we charge you as follows:"),
            Spacer(1, 4 * mm),
            items,
            Spacer(1, 8 * mm),
            text("Payment terms", style=BOLD),
            terms,
            Spacer(1, 4 * mm),
            text("Remarks", style=BOLD),
            remarks,
            Spacer(1, 12 * mm),
            footer,
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1])

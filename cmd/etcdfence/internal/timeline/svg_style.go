package timeline

// style is for the paper, the ink, the two workers, and the two answers. The stroke of
// a text in the colour of the paper keeps lines from running through it.
const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;font-size:13px;fill:#1f2933;paint-order:stroke;stroke:#fdfcf9;stroke-width:4px;stroke-linejoin:round}
.paper{fill:#fdfcf9;stroke:#d6d3cb}
.title{font-size:21px;font-weight:700}
.sub{font-size:14px;fill:#4b5563}
.name{font-size:15px;font-weight:700;stroke:none}
.role{font-size:11.5px;fill:#4b5563;stroke:none}
.time{font-size:12px;fill:#6b7280;font-variant-numeric:tabular-nums;stroke:none}
.wait{fill:#6b7280}
.strong{font-weight:700}
.small{font-size:12px;fill:#4b5563}
.foot{font-size:11.5px;fill:#6b7280;stroke:none}
.lane{stroke:#c9c5bb;stroke-width:1.5}
.rule{stroke:#d6d3cb}
.head{stroke-width:1.5}
.a-head{fill:#fef3c7;stroke:#d97706}
.b-head{fill:#dbeafe;stroke:#2563eb}
.e-head{fill:#ede9fe;stroke:#7c3aed}
.s-head{fill:#e5e7eb;stroke:#475569}
.a-bar{fill:#f59e0b}
.b-bar{fill:#3b82f6}
.e-dot{fill:#7c3aed}
.still-held{fill:#fef3c7}
.still-lost{fill:#eceae4}
.still-frame{fill:url(#hatch);stroke:#b45309;stroke-width:1.5}
.hatch{fill:#d9a25c;fill-opacity:.45}
.pause{fill:#fdfcf9;stroke:#b45309;stroke-width:1.5}
.pause-bar{fill:#b45309}
.ink{stroke:#4b5563;stroke-width:1.5}
.ink-fill{fill:#4b5563}
.good{stroke:#15803d;stroke-width:2}
.good-fill{fill:#15803d}
.good-text{fill:#166534}
.good-box{fill:#dcfce7;stroke:#15803d}
.good-card{fill:#f0fdf4;stroke:#15803d}
.bad{stroke:#b91c1c;stroke-width:2;stroke-dasharray:7 4}
.bad-fill{fill:#b91c1c}
.bad-text{fill:#991b1b}
.bad-box{fill:#fee2e2;stroke:#b91c1c;stroke-width:1.5}
.bad-card{fill:#fef2f2;stroke:#b91c1c}
.card{stroke-width:1.5}
.card~text{stroke:none}
.good-box+text,.bad-box+text{stroke:none}
.tick{fill:none;stroke:#fff;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}
`

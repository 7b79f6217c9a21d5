/** A bar as a part of an SVG path. However little it stands for, it is seen: it is at least 1 pixel high. */
export function bar(left: number, width: number, bottom: number, top: number): string {
  const [x, w, from, to] = [left, width, bottom, Math.min(top, bottom - 1)].map((n) => n.toFixed(1));
  return `M${x} ${from}V${to}h${w}V${from}z`;
}

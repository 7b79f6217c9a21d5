/** @jsxImportSource hono/jsx */

/**
 * The frame of every chart: lines, labels, a title and a description for those who do not see it, and its numbers as a
 * table. The chart is as wide as the page is. Only the drawing is stretched; text, lines and dots are not.
 */

import type { Child } from "hono/jsx";

/** Of the drawing: its own units, whatever the size on the screen. */
export const SIZE = 1_000;
const [TOP, BOTTOM] = [18, 22];

interface ChartProps {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  /** What there is to see, in words. */
  readonly description: string;
  /** Of the drawing, in pixels. */
  readonly height: number;
  /** Shares of the height, from the bottom. */
  readonly lines: readonly Label[];
  /** Shares of the width. */
  readonly labels: readonly Label[];
  /** Dots and vertical lines, at shares of width and height. */
  readonly marks?: readonly Mark[];
  readonly table: Child;
  /** Drawn from 0 to `SIZE` in both directions, from the top left. */
  readonly children: Child;
}

export interface Label {
  readonly at: number;
  readonly text: string;
}

export interface Mark {
  readonly x: number;
  /** Absent: a vertical line. */
  readonly y?: number;
  readonly className: string;
  readonly text?: string;
}

export function Chart({ id, title, description, height, lines, labels, marks = [], table, children }: ChartProps) {
  const y = (share: number) => TOP + (1 - share) * height;
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <svg class="chart" width="100%" height={TOP + height + BOTTOM} role="img" aria-labelledby={`${id}-t ${id}-d`}>
        <title id={`${id}-t`}>{title}</title>
        <desc id={`${id}-d`}>{description}</desc>
        {lines.map(({ at }) => (
          <line class="grid" x1="0" x2="100%" y1={round(y(at))} y2={round(y(at))} />
        ))}
        <svg
          aria-hidden="true"
          y={TOP}
          width="100%"
          height={height}
          viewBox={`0 0 ${SIZE} ${SIZE}`}
          preserveAspectRatio="none"
        >
          {children}
        </svg>
        {marks.map(({ x, y: share, className, text }) => (
          <>
            {share === undefined ? (
              <line class={className} x1={percentOf(x)} x2={percentOf(x)} y1={TOP - 2} y2={TOP + height} />
            ) : (
              <circle class={className} cx={percentOf(x)} cy={round(y(share))} r="3.5" />
            )}
            {text && (
              <text x={percentOf(x)} y={TOP - 6} text-anchor={anchorOf(x)}>
                {text}
              </text>
            )}
          </>
        ))}
        {lines.map(({ at, text }) => (
          <text x="-6" y={round(y(at)) + 4} text-anchor="end">
            {text}
          </text>
        ))}
        {labels.map(({ at, text }) => (
          <text x={percentOf(at)} y={TOP + height + 16} text-anchor={anchorOf(at)}>
            {text}
          </text>
        ))}
      </svg>
      <details>
        <summary>As a table</summary>
        <section class="scroll" aria-label={`${title} as a table`} tabindex={0}>
          {table}
        </section>
      </details>
    </figure>
  );
}

/** One bar as a part of a path: its left side, width, bottom and top in units of the drawing. */
export function bar(left: number, width: number, bottom: number, top: number): string {
  if (bottom === top) return "";
  return `M${round(left)} ${round(bottom)}V${round(top)}h${round(width)}V${round(bottom)}z`;
}

/** A label at the edge must not be cut off. */
function anchorOf(share: number): "start" | "middle" | "end" {
  return share < 0.04 ? "start" : share > 0.96 ? "end" : "middle";
}

function percentOf(share: number): string {
  return `${round(share * 100)}%`;
}

export function round(n: number): number {
  return Math.round(n * 10) / 10;
}

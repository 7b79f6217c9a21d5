/**
 * Stacked bars over time, from zero. Bars and no lines: where nothing was counted is a gap. SVG takes the page's
 * colours, in the dark and in print too. Dragging over it chooses a time, by mouse and by thumb.
 */

import { cumsum } from "d3-array";
import { useId, useState } from "preact/hooks";
import type { Span } from "../data/sums.ts";
import { utc } from "../parts/time.tsx";
import { bar } from "./bar.ts";
import type { Plotted } from "./plotted.ts";
import { rateAxis, timeAxis } from "./scale.ts";

interface BarsProps extends Plotted {
  readonly width: number;
  readonly height: number;
  /** The step under the pointer, also that of another chart. */
  readonly step: number | undefined;
  onStep(step: number | undefined): void;
  onZoom(span: Span): void;
}

const [LEFT, TOP, BOTTOM] = [56, 16, 22];
/** What a label of time takes, in pixels. */
const LABEL = 44;
/** How far labels of time are apart, in pixels. A narrow chart has them nearer, so that it has more than one. */
const [SPACE, LEAST_LABELS] = [96, 3.5];
/** Between bars, as a share of a step. Steps of a few pixels have none: it would only be a blur. */
const [GAP, LEAST_STEP] = [0.14, 4];

export function Bars(props: BarsProps) {
  const { grid, span, stacks, partialFromMs, marks, outages, perSecond, width, height, step, onStep, onZoom } = props;
  const hatch = useId();
  const [drag, setDrag] = useState<readonly [fromX: number, toX: number]>();

  const [fromMs, toMs] = [grid.fromMs, grid.fromMs + grid.length * grid.stepMs];
  const [inner, floor] = [Math.max(1, width - LEFT), height - BOTTOM];
  const x = (ms: number) => LEFT + ((Math.min(toMs, Math.max(fromMs, ms)) - fromMs) / (toMs - fromMs)) * inner;
  const msOf = (at: number) => fromMs + ((Math.min(width, Math.max(LEFT, at)) - LEFT) / inner) * (toMs - fromMs);
  const stepOf = (at: number) => Math.min(grid.length - 1, Math.floor((msOf(at) - fromMs) / grid.stepMs));
  const stepWidth = inner / grid.length;
  const barWidth = stepWidth < LEAST_STEP ? stepWidth : stepWidth * (1 - GAP);

  const steps = Array.from({ length: grid.length }, (_, i) => i);
  /** By step, and then from bottom to top: where each bar ends. */
  const tops = steps.map((i) => cumsum(stacks.map(({ counts }) => perSecond(i, counts[i] ?? 0))));
  const axis = rateAxis(Math.max(0, ...tops.map((ends) => ends.at(-1) ?? 0)) || 1);
  const y = (rate: number) => floor - (rate / axis.most) * (floor - TOP);
  const leftOf = (i: number) => x(fromMs + i * grid.stepMs);

  const paths = stacks.map((_, at) =>
    steps.map((i) => {
      const [from, to] = [tops[i]![at - 1] ?? 0, tops[i]![at]!];
      return to === from ? "" : bar(leftOf(i), barWidth, y(from), y(to));
    }),
  );

  // Most of what is drawn is admitted. It is light, and its top is a line.
  const caps = steps
    .filter((i) => stacks[0]?.is === "admitted" && tops[i]![0]! > 0)
    .map((i) => `M${leftOf(i).toFixed(1)} ${y(tops[i]![0]!).toFixed(1)}h${barWidth.toFixed(1)}`);

  const offset = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }) =>
    event.clientX - event.currentTarget.getBoundingClientRect().left;
  const partialX = x(partialFromMs);
  const wished = Math.min(grid.length, Math.max(LEAST_LABELS, inner / SPACE));
  // A label at the right edge would be cut off.
  const instants = timeAxis(fromMs, msOf(width - LABEL / 2), wished, ((toMs - fromMs) * LABEL) / inner);

  return (
    <svg
      class="bars"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag([offset(event), offset(event)]);
      }}
      onPointerMove={(event) => {
        onStep(stepOf(offset(event)));
        if (drag) setDrag([drag[0], offset(event)]);
      }}
      onPointerLeave={() => onStep(undefined)}
      onPointerCancel={() => setDrag(undefined)}
      onPointerUp={() => {
        setDrag(undefined);
        if (!drag || Math.abs(drag[1] - drag[0]) < 6) return;
        const [first, last] = [stepOf(Math.min(...drag)), stepOf(Math.max(...drag))];
        onZoom({ fromMs: fromMs + first * grid.stepMs, toMs: Math.min(span.toMs, fromMs + (last + 1) * grid.stepMs) });
      }}
    >
      <defs>
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse">
          <path d="M-1.5 1.5l3 -3M0 6l6 -6M4.5 7.5l3 -3" class="hatch" />
        </pattern>
      </defs>
      {partialFromMs < toMs && (
        <>
          <rect class="partial" x={partialX} y={TOP} width={width - partialX} height={floor - TOP} />
          <text class="axis" x={width - 4} y={TOP - 6} text-anchor="end">
            so far
          </text>
        </>
      )}
      {axis.lines.map(({ perSecond: rate, text }) => (
        <g key={rate}>
          <path class="grid" d={`M${LEFT} ${Math.round(y(rate)) + 0.5}H${width}`} />
          <text class="axis" x={LEFT - 8} y={y(rate) + 4} text-anchor="end">
            {text}
          </text>
        </g>
      ))}
      {instants.map(({ atMs, text }) => (
        <g key={atMs}>
          <path class="grid" d={`M${Math.round(x(atMs)) + 0.5} ${floor}v5`} />
          <text class="axis when" x={x(atMs)} y={height - 3} text-anchor="middle">
            <title>{utc(atMs)}</title>
            {text}
          </text>
        </g>
      ))}
      {paths.map((path, i) => {
        const { is } = stacks[i]!;
        return (
          <path key={is} class={`bar ${is}`} d={path.join("")} {...(is === "would" && { fill: `url(#${hatch})` })} />
        );
      })}
      <path class="cap" d={caps.join("")} />
      {outages.map((one) => (
        <rect key={one} class="outage" x={leftOf(one)} y={TOP - 4} width={stepWidth} height="3" />
      ))}
      {marks
        .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
        .map(({ atMs, text }) => (
          <g key={atMs} class="mark">
            <path d={`M${Math.round(x(atMs)) + 0.5} ${TOP - 10}V${floor}`} />
            <text class="axis" x={x(atMs) - 4} y={TOP + 12} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
      {step !== undefined && step < grid.length && (
        <rect class="here" x={leftOf(step)} y={TOP} width={barWidth} height={floor - TOP} />
      )}
      {drag && (
        <rect
          class="chosen"
          x={Math.max(LEFT, Math.min(...drag))}
          y={TOP}
          width={Math.max(0, Math.min(width, Math.max(...drag)) - Math.max(LEFT, Math.min(...drag)))}
          height={floor - TOP}
        />
      )}
    </svg>
  );
}

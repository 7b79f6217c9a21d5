/** The timeline of a run: admissions above the line, refusals below it, for each location. */

import type { Outcome } from "./run.ts";
import type { Setting } from "./setting.ts";

/** The colours of the page's theme. */
export interface Colours {
  readonly text: string;
  readonly line: string;
  readonly admitted: string;
  readonly refused: string;
  readonly outage: string;
}

const ROW_PX = 96;
const TOP_PX = 18;
/** The width of one column. */
const COLUMN_PX = 3;

/** The height of the whole picture, px. */
export const heightOf = ({ locations }: Setting) => TOP_PX + locations.length * ROW_PX;

/** Draws on a canvas of this width, px. */
export function drawTimeline(
  canvas: CanvasRenderingContext2D,
  width: number,
  setting: Setting,
  { told }: Outcome,
  colours: Colours,
): void {
  const windowMs = setting.windowS * 1_000;
  const [fromMs, toMs] = [-windowMs / 4, (setting.windows + 0.5) * windowMs];
  const xOf = (ms: number) => ((ms - fromMs) / (toMs - fromMs)) * width;
  const columns = Math.ceil(width / COLUMN_PX);
  const height = heightOf(setting);
  canvas.clearRect(0, 0, width, height);
  canvas.font = "12px system-ui, sans-serif";

  if (setting.outageToS > setting.outageFromS) {
    const x = xOf(setting.outageFromS * 1_000);
    canvas.fillStyle = colours.outage;
    canvas.fillRect(x, TOP_PX, xOf(setting.outageToS * 1_000) - x, height - TOP_PX);
  }
  canvas.fillStyle = colours.text;
  for (let w = 0; w <= setting.windows; w++) {
    const x = xOf(w * windowMs);
    canvas.fillText(`${w * setting.windowS} s`, x + 3, 12);
    canvas.fillRect(x, TOP_PX, 0.5, height - TOP_PX);
  }

  const counts = setting.locations.map(() => ({
    admitted: new Array<number>(columns).fill(0),
    refused: new Array<number>(columns).fill(0),
  }));
  for (const { location, admitted, reachedMs, answeredMs } of told) {
    const column = Math.floor(xOf(admitted ? reachedMs : answeredMs) / COLUMN_PX);
    const row = counts[location]![admitted ? "admitted" : "refused"];
    if (column >= 0 && column < columns) row[column]!++;
  }
  const most = Math.max(1, ...counts.flatMap(({ admitted, refused }) => [...admitted, ...refused]));
  for (const [location, { admitted, refused }] of counts.entries()) {
    const middle = TOP_PX + (location + 0.5) * ROW_PX;
    const half = ROW_PX / 2 - 6;
    // A root, so that one request can be seen beside a thousand.
    const tall = (n: number) => Math.sqrt(n / most) * half;
    for (let column = 0; column < columns; column++) {
      const x = column * COLUMN_PX;
      canvas.fillStyle = colours.admitted;
      canvas.fillRect(x, middle - tall(admitted[column]!), COLUMN_PX - 1, tall(admitted[column]!));
      canvas.fillStyle = colours.refused;
      canvas.fillRect(x, middle, COLUMN_PX - 1, tall(refused[column]!));
    }
    canvas.fillStyle = colours.line;
    canvas.fillRect(0, middle, width, 1);
    canvas.fillStyle = colours.text;
    canvas.fillText(`${location + 1}`, 4, middle - 4);
  }
}

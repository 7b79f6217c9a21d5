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

const ROW_PX = 104;
/** The space of the numbers beside and below the rows. */
const LEFT_PX = 34;
const BOTTOM_PX = 20;
/** A number of the time axis needs so much. */
const LABEL_PX = 52;
/** The width of one column. */
const COLUMN_PX = 3;

/** The height of the whole picture, px. */
export const heightOf = ({ locations }: Setting) => locations.length * ROW_PX + BOTTOM_PX;

/** Draws on a canvas of this width, px. @returns the time of one column, ms. */
export function drawTimeline(
  canvas: CanvasRenderingContext2D,
  width: number,
  setting: Setting,
  { told }: Outcome,
  colours: Colours,
): number {
  const windowMs = setting.windowS * 1_000;
  const [fromMs, toMs] = [-windowMs / 4, (setting.windows + 0.5) * windowMs];
  const msPerPx = (toMs - fromMs) / (width - LEFT_PX);
  const xOf = (ms: number) => LEFT_PX + (ms - fromMs) / msPerPx;
  const columns = Math.ceil((width - LEFT_PX) / COLUMN_PX);
  const height = heightOf(setting);
  const bottom = height - BOTTOM_PX;
  canvas.clearRect(0, 0, width, height);
  canvas.font = "12px system-ui, sans-serif";

  if (setting.outageToS > setting.outageFromS) {
    const x = xOf(setting.outageFromS * 1_000);
    canvas.fillStyle = colours.outage;
    canvas.fillRect(x, 0, Math.min(width, xOf(setting.outageToS * 1_000)) - x, bottom);
  }
  canvas.fillStyle = colours.text;
  const labelled = Math.ceil((LABEL_PX * msPerPx) / windowMs);
  for (let w = 0; w <= setting.windows; w++) {
    const x = xOf(w * windowMs);
    canvas.fillRect(x, 0, 0.5, bottom);
    canvas.textAlign = "center";
    if (w % labelled === 0) canvas.fillText(`${w * setting.windowS} s`, x, height - 5);
  }

  const counts = setting.locations.map(() => ({
    admitted: new Array<number>(columns).fill(0),
    refused: new Array<number>(columns).fill(0),
  }));
  for (const { location, admitted, reachedMs, answeredMs } of told) {
    const column = Math.floor((xOf(admitted ? reachedMs : answeredMs) - LEFT_PX) / COLUMN_PX);
    const row = counts[location]![admitted ? "admitted" : "refused"];
    if (column >= 0 && column < columns) row[column]!++;
  }
  const most = Math.max(1, ...counts.flatMap(({ admitted, refused }) => [...admitted, ...refused]));
  for (const [location, { admitted, refused }] of counts.entries()) {
    const middle = (location + 0.5) * ROW_PX;
    const half = ROW_PX / 2 - 11;
    // A root, so that one request can be seen beside a thousand.
    const tall = (n: number) => Math.sqrt(n / most) * half;
    for (let column = 0; column < columns; column++) {
      const x = LEFT_PX + column * COLUMN_PX;
      canvas.fillStyle = colours.admitted;
      canvas.fillRect(x, middle - tall(admitted[column]!), COLUMN_PX - 1, tall(admitted[column]!));
      canvas.fillStyle = colours.refused;
      canvas.fillRect(x, middle, COLUMN_PX - 1, tall(refused[column]!));
    }
    canvas.fillStyle = colours.line;
    canvas.fillRect(LEFT_PX, middle, width, 1);
    canvas.fillStyle = colours.text;
    canvas.textAlign = "right";
    canvas.fillText(String(most), LEFT_PX - 5, middle - half + 5);
    canvas.fillText("0", LEFT_PX - 5, middle + 4);
    canvas.fillText(String(most), LEFT_PX - 5, middle + half + 4);
    if (counts.length > 1) canvas.fillText(`location ${location + 1}`, width - 4, middle - half + 5);
  }
  return COLUMN_PX * msPerPx;
}

/** How large a share was refused over time, as high as a line of text. Its top is 10 %, or the largest share. */

import { bar } from "./bar.ts";

const [WIDTH, HEIGHT] = [96, 20];
const LEAST = 0.1;

interface SparkProps {
  readonly counts: readonly (number | null)[];
  /** Of how many. */
  readonly of: readonly (number | null)[];
  readonly is: string;
  readonly label: string;
}

export function Spark({ counts, of, is, label }: SparkProps) {
  const shares = counts.map((one, i) => (one ? one / of[i]! : 0));
  const most = Math.max(LEAST, ...shares);
  const width = WIDTH / shares.length;
  const bars = shares.map((share, i) =>
    share === 0 ? "" : bar(i * width, width * 0.8, HEIGHT, HEIGHT - (share / most) * HEIGHT),
  );
  return (
    <svg class={`spark ${is}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img">
      <title>{label}</title>
      <path d={`M0 ${HEIGHT - 0.5}h${WIDTH}`} class="base" />
      <path d={bars.join("")} />
    </svg>
  );
}

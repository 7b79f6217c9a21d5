/** A chart of the height of a line: how a count went. From zero to its own largest value. */

const [WIDTH, HEIGHT] = [96, 20];

export function Spark({ counts, is, label }: { counts: readonly (number | null)[]; is: string; label: string }) {
  const most = Math.max(...counts.map((one) => one ?? 0));
  const width = WIDTH / counts.length;
  const bars = counts.map((one, i) => {
    // A count above zero is always seen.
    const height = one ? Math.max(1.5, (one / most) * HEIGHT) : 0;
    return height > 0 ? `M${(i * width).toFixed(1)} ${HEIGHT}v-${height.toFixed(1)}h${(width * 0.8).toFixed(1)}V${HEIGHT}z` : "";
  });
  return (
    <svg class={`spark ${is}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img">
      <title>{label}</title>
      <path d={`M0 ${HEIGHT - 0.5}h${WIDTH}`} class="base" />
      <path d={bars.join("")} />
    </svg>
  );
}

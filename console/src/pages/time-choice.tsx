/** Which time and which region the page tells of. */

import { chooseRange, RANGES } from "../data/stats.ts";
import { useValue } from "../data/value.ts";
import { region, type View, zoom } from "../data/view.ts";
import { Time, ZONE } from "../parts/time.tsx";

export function TimeChoice({ view }: { view: View }) {
  const chosen = useValue(zoom);
  const only = useValue(region);
  const { minutes, history } = view.state;
  const known = history?.points.map((point) => point.region) ?? [];
  const regions = [...new Set(only === undefined ? known : [...known, only])].sort();
  const choose = (range: number) => {
    zoom.set(undefined);
    chooseRange(range);
  };
  return (
    <div class="choices">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is no row of buttons. */}
      <div class="choice" role="group" aria-label="Time">
        {RANGES.map(([range, text]) => (
          <button key={range} type="button" aria-pressed={minutes === range && !chosen} onClick={() => choose(range)}>
            {text}
          </button>
        ))}
      </div>
      {regions.length > 1 && (
        // biome-ignore lint/a11y/useSemanticElements: as above.
        <div class="choice" role="group" aria-label="Region">
          <button type="button" aria-pressed={only === undefined} onClick={() => region.set(undefined)}>
            all regions
          </button>
          {regions.map((name) => (
            <button key={name} type="button" aria-pressed={only === name} onClick={() => region.set(name)}>
              {name}
            </button>
          ))}
        </div>
      )}
      <p class="span">
        {chosen ? (
          <>
            <Time ms={chosen.fromMs} exact /> – <Time ms={chosen.toMs} exact />{" "}
            <button type="button" class="small" onClick={() => zoom.set(undefined)}>
              Show all
            </button>
          </>
        ) : (
          <span class="muted">Times of {ZONE}</span>
        )}
      </p>
    </div>
  );
}

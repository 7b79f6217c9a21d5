/** Says for a minute that the last change was made, and where it is undone. The page of changes lists them all. */

import { now } from "../api.ts";
import { useValue } from "../data/value.ts";
import { hrefOf, route } from "../route.ts";
import { history } from "./history.ts";

const SHOWN_MS = 60_000;

export function LastChange() {
  const [last] = useValue(history);
  const { page } = useValue(route);
  const isShown = last && page !== "changes" && now() - last.atMs < SHOWN_MS;
  return (
    <p class="last" role="status">
      {isShown && (
        <>
          Done: {last.change.title}
          {last.version !== undefined && <small class="tag">v{last.version}</small>}{" "}
          {last.change.undo && <a href={hrefOf("changes")}>Undo …</a>}
        </>
      )}
    </p>
  );
}

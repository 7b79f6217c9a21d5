/** What pages about traffic show while there are no counts. */

import { stats, tick } from "../data/stats.ts";
import { useValue } from "../data/value.ts";
import { Command } from "../parts/command.tsx";
import { Failed, Notice } from "../parts/notice.tsx";

/** As high as what comes, so that nothing jumps. */
export function Waiting() {
  const { off, failure } = useValue(stats);
  if (off) return null;
  if (failure) {
    return (
      <Notice title="No counts can be read">
        <Failed error={failure} holds="Limits hold all the same: nothing waits for counts." />
        <p>This page asks again every 5 seconds.</p>
      </Notice>
    );
  }
  return (
    <div class="waiting" role="status">
      <p>Reading the counts …</p>
    </div>
  );
}

export function NoStats() {
  const { off, minutes } = useValue(stats);
  if (!off) return null;
  const again = () => {
    stats.set({ minutes });
    tick();
  };
  return (
    <Notice title="This gateway keeps no counts">
      <p>
        Limits hold, and clients and policies can be looked up and changed. Numbers over time need the Durable Object{" "}
        <code>STATS</code>, and <code>STATS_FLUSH</code> above <code>0s</code>. In <code>wrangler.toml</code>:
      </p>
      <pre>
        <code>{`[[durable_objects.bindings]]
name = "STATS"
class_name = "HeadgateStats"

[[migrations]]
tag = "v2"
new_sqlite_classes = ["HeadgateStats"]`}</code>
      </pre>
      <button type="button" onClick={again}>
        Refresh
      </button>
    </Notice>
  );
}

export function NoRequests() {
  return (
    <Notice title="No request has been counted yet">
      <p>Send the first one. It appears here once its Worker instance has reported its counts.</p>
      <Command label="The first request" text={`curl -i ${location.origin}/`} />
    </Notice>
  );
}

/** What this session changed, the newest first, and the way back. */

import { useState } from "preact/hooks";
import { ChangePanel } from "../changes/change-panel.tsx";
import { type Done, history, lastDone } from "../changes/history.ts";
import { useValue } from "../data/value.ts";
import { Command } from "../parts/command.tsx";
import { Panel } from "../parts/panel.tsx";
import { Time } from "../parts/time.tsx";

export function SessionChanges() {
  const all = useValue(history);
  const [asked, setAsked] = useState<Done>();
  const last = lastDone(all);
  if (all.length === 0) return <p class="muted">Nothing was changed in this session.</p>;
  return (
    <section>
      <h2>In this session</h2>
      <ol class="done">
        {all.map((done) => {
          const { atMs, change, version, isUndone } = done;
          return (
            <li key={atMs} class={isUndone ? "undone" : ""}>
              <p>
                <Time ms={atMs} exact /> {change.title}
                {version !== undefined && <small class="tag">v{version}</small>}
                {isUndone && <small class="tag">undone</small>}{" "}
                {done === last && asked !== done && (
                  <button type="button" class="small" onClick={() => setAsked(done)}>
                    Undo
                  </button>
                )}
              </p>
              {asked === done && change.undo ? (
                <Panel label={change.undo.title}>
                  <ChangePanel
                    change={change.undo}
                    verb="Undo"
                    undone={done}
                    onDone={() => setAsked(undefined)}
                    onCancel={() => setAsked(undefined)}
                  />
                </Panel>
              ) : (
                <Command label="Its command" text={change.command} />
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** Asks for the admin token, once: the gateway answers with a session that no script can read. */

import { useEffect, useRef, useState } from "preact/hooks";
import { signIn } from "../data/session.ts";

export function SignIn({ why }: { why: string | undefined }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<string>();
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  async function submit(event: Event) {
    event.preventDefault();
    setSending(true);
    setWrong(undefined);
    const failure = await signIn(token.trim());
    if (failure === undefined) return;
    setWrong(failure);
    setSending(false);
    field.current?.select();
  }

  return (
    <main class="sign-in">
      <h1>headgate</h1>
      <p class="muted">{why ?? "Sign in to see who is limited, and to change limits."}</p>
      <form onSubmit={submit}>
        {/* Password managers want a name to keep the token under. */}
        <input type="text" name="username" autocomplete="username" value="headgate" hidden readOnly />
        <label>
          Admin token
          <input
            ref={field}
            type="password"
            name="token"
            autocomplete="current-password"
            required
            value={token}
            aria-describedby="wrong"
            aria-invalid={wrong !== undefined}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p id="wrong" class="failed" role="alert" hidden={wrong === undefined}>
          {wrong}
        </p>
        <button type="submit" class="primary" disabled={isSending || token.trim() === ""}>
          {isSending ? "Signing in …" : "Sign in"}
        </button>
      </form>
      <p class="note">
        It is the secret <code>ADMIN_TOKEN</code>. <code>npm start</code> prints one. The session lasts 12 hours, and
        ends when the token is changed.
      </p>
    </main>
  );
}

// Hooks for what views ask of the server: answers that follow their question, and actions with their errors in words.
import { useCallback, useEffect, useRef, useState } from "./lib.js";
import { api } from "./api.js";

const AGAIN = 2000; // milliseconds until a question that met no server is asked again

/**
 * The answer to GET /api/<path>: {answer, error, busy, again}. Asked anew when the params or `stamp` change (pass
 * state.revision where the answer depends on the session). The last answer stays until the next one is there.
 * `path` null asks nothing.
 */
export function useGet(path, params = {}, stamp = 0) {
  const [found, setFound] = useState({ answer: null, error: null, busy: Boolean(path), path });
  const [tries, setTries] = useState(0);
  const key = JSON.stringify(params);
  useEffect(() => {
    if (!path) {
      setFound({ answer: null, error: null, busy: false, path });
      return undefined;
    }
    const ended = new AbortController();
    let timer = 0;
    setFound((last) => ({ answer: last.path === path ? last.answer : null, error: null, busy: true, path }));
    api.get(path, params, ended.signal).then(
      (answer) => ended.signal.aborted || setFound({ answer, error: null, busy: false, path }),
      (error) => {
        if (ended.signal.aborted) return;
        const away = error.status === 0; // no connection: what was there stays, and the question is asked again
        if (away) timer = setTimeout(() => setTries((n) => n + 1), AGAIN);
        setFound((last) => ({ answer: away && last.path === path ? last.answer : null, error, busy: false, path }));
      },
    );
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [path, key, stamp, tries]);
  const again = useCallback(() => setTries((n) => n + 1), []);
  return { answer: found.answer, error: found.error, busy: found.busy, again };
}

/**
 * The answer to a question that is posted (em, bound, decide, view): like useGet. Questions that come while one is
 * unanswered replace each other.
 */
export function usePost(path, body, stamp = 0, wait = 120) {
  const [found, setFound] = useState({ answer: null, error: null, busy: Boolean(path && body) });
  const key = JSON.stringify(body);
  useEffect(() => {
    if (!path || !body) return undefined;
    const ended = new AbortController();
    setFound((last) => ({ ...last, error: null, busy: true }));
    const timer = setTimeout(() => {
      api.post(path, body, ended.signal).then(
        (answer) => ended.signal.aborted || setFound({ answer, error: null, busy: false }),
        (error) => ended.signal.aborted || setFound({ answer: null, error, busy: false }),
      );
    }, wait);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [path, key, stamp]);
  return found;
}

/** An action of a button: {run, busy, error, clear}; run(work) awaits work() and keeps its error in words. */
export function useAct() {
  const [found, setFound] = useState({ busy: false, error: null });
  const there = useRef(true);
  useEffect(() => {
    there.current = true;
    return () => {
      there.current = false;
    };
  }, []);
  const run = useCallback(async (work) => {
    setFound({ busy: true, error: null });
    try {
      const answer = await work();
      if (there.current) setFound({ busy: false, error: null });
      return answer;
    } catch (error) {
      if (there.current) setFound({ busy: false, error });
      return undefined;
    }
  }, []);
  const clear = useCallback(() => setFound({ busy: false, error: null }), []);
  return { ...found, run, clear };
}

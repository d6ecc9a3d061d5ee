// A page whose scripts are loaded when it is shown for the first time.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api/client";
import { Failed, Loading } from "./views";

export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | null = null;
  return function Lazily(props: P) {
    const [failed, setFailed] = useState(false);
    const [, setTurn] = useState(0);
    useEffect(() => {
      if (found !== null) return;
      load().then(
        (page) => {
          found = page;
          setTurn((before) => before + 1);
        },
        () => setFailed(true),
      );
    }, []);
    const Page = found;
    if (Page !== null) return <Page {...props} />;
    if (!failed) return <Loading />;
    return <Failed problem={new Problem(0, "A part of the page cannot be loaded.", "The server is away, or has another build of the page. Load the page again.")} again={() => location.reload()} />;
  };
}

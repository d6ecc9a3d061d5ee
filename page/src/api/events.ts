// Reads server-sent events from text that arrives in pieces. Pure.

export interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

/** Cuts text into events; keeps the rest of an unfinished one. */
export class EventReader {
  private rest = "";

  /** The events that are whole now. Comments are skipped. */
  take(text: string): ServerEvent[] {
    const blocks = (this.rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(eventOf).filter((one): one is ServerEvent => one !== null);
  }
}

function eventOf(block: string): ServerEvent | null {
  const found: ServerEvent = { name: "message", id: "", data: "" };
  let any = false;
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const [field, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (field === "event") found.name = value;
    else if (field === "id") found.id = value;
    else if (field === "data") {
      found.data += any ? `\n${value}` : value;
      any = true;
    }
  }
  return any ? found : null;
}

/** Seconds until the next try after `tries` failed ones: longer each time, at most 4, and never the same for two tabs. */
export function pause(tries: number, random: number): number {
  const most = Math.min(4, 1.5 ** tries);
  return most * (0.5 + random / 2);
}

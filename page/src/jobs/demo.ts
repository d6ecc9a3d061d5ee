// The demo job: four tables of a shop that are made up, written to the output of the driver. It needs no file, no
// database and no network.

import { act, ask, Problem } from "../api/client";
import type { Asked } from "../api/shapes";

export const DEMO = "demo";

const table = (name: string, rows: number, fields: string): string =>
  `    { row.num = ${rows}, split.num = 20, schema { table = "shop.${name}", fields { ${fields} } } }`;

export const DEMO_TEXT = `# The demo of the web page: rows that are made up, so that there is something to look at.
env {
  job.name = "demo: a shop"
  job.mode = BATCH
  checkpoint.interval = 1000
  read_limit.rows_per_second = 400
  unit.rows = 25
}

source {
  FakeSource {
    tables_configs = [
  ${table("customers", 300, "id = bigint, name = string")}
  ${table("products", 200, "id = bigint, price = double")}
  ${table("orders", 600, "id = bigint, customer = bigint, total = double")}
  ${table("order_items", 900, "id = bigint, order_id = bigint, product = bigint")}
    ]
  }
}

sink {
  Console {}
}
`;

/** Store the demo job if it is not there, and start it. Returns the id of the run. */
export async function startDemo(): Promise<string> {
  try {
    await ask("definitions", { method: "POST", body: { id: DEMO, text: DEMO_TEXT, comment: "from the web page" } });
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 409) throw error;
  }
  const asked = await act<Asked>(`definitions/${DEMO}/runs`);
  return asked.job_id;
}

// SPDX-License-Identifier: Apache-2.0
import { Api, server } from "./api";
import { App } from "./app";
import "./app.css";
import { carried } from "./carried";
import { fill, h } from "./dom";
import { Model } from "./model";

const source = carried();

async function start(): Promise<void> {
  const api = new Api(source ?? server);
  const model = new Model(await api.model());
  document.title = `${model.run.file} · Sonde`;
  const app = new App(model, api);
  // For tests, and for who is curious at the console.
  Object.assign(window, { sonde: app });
  app.begin();
}

start().catch((e: unknown) => {
  const text = e instanceof Error ? e.message : String(e);
  const hint = source ? "" : " Is sonde serve still running, and is this the URL that it printed?";
  fill(document.body, h("p", { class: "fatal" }, `The run cannot be shown: ${text}.${hint}`));
});

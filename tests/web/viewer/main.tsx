// SPDX-License-Identifier: Apache-2.0
// The trace viewer's own component over one experiment: ?tsp=URL&outputs=ID,ID
import "@ag-grid-community/styles/ag-grid.css";
import "@ag-grid-community/styles/ag-theme-balham.css";
import { createRoot } from "react-dom/client";
import { HttpTspClient } from "tsp-typescript-client/lib/protocol/http-tsp-client";
import { MessageManager } from "traceviewer-base/lib/message-manager";
import { TraceContextComponent } from "traceviewer-react-components/components/trace-context-component";

async function show(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const client = new HttpTspClient(query.get("tsp") ?? "");
  const experiment = (await client.fetchExperiments()).getModel()?.[0];
  if (!experiment) throw new Error("no experiment");
  const outputs = (await client.experimentOutputs(experiment.UUID)).getModel() ?? [];
  const wanted = (query.get("outputs") ?? "").split(",");
  const nothing = () => undefined;
  createRoot(document.getElementById("root")!).render(
    <TraceContextComponent tspClient={client} experiment={experiment}
      outputs={outputs.filter((o) => wanted.includes(o.id))} markerCategoriesMap={new Map()} markerSetId=""
      onOutputRemove={nothing} onOverviewRemove={nothing} messageManager={new MessageManager()}
      addResizeHandler={nothing} removeResizeHandler={nothing} backgroundTheme="light" />);
}

show().catch((e: unknown) => Object.assign(window, { viewerError: String(e) }));

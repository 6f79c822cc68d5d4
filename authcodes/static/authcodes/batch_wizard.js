// The wizard of batches: its steps, as every wizard has them. The summary beside them is portal/live_panel.js.
import { inSteps } from "../portal/wizard.js";

inSteps(document.querySelector(".batch-wizard"));

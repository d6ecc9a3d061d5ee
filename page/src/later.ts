// Pages and tabs whose scripts are loaded together, when one of them is shown for the first time. One file for each would
// make the bundler take what they share out of the first script: each visit of the list of jobs would ask for more files.

export { CataloguePage } from "./catalogue/page";
export { DiscoverPage } from "./discover/page";
export { LineageTab } from "./lineage/tab";

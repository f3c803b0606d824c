// What `ParityStock` runs on; the rest of it is `Shared`.
@_exported import FoundationNetworking

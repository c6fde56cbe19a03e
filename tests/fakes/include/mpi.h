/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stands in for MPI's header where there is none: the part that launch/transports/mpi.hpp uses, written from the
 * MPI 3.1 standard. Only compiled against, never linked. */
#pragma once

typedef struct fake_mpi_comm* MPI_Comm;
typedef struct fake_mpi_request* MPI_Request;
typedef struct fake_mpi_type* MPI_Datatype;
typedef struct fake_mpi_handler* MPI_Errhandler;
typedef struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  long long bytes;
} MPI_Status;

#define MPI_SUCCESS 0
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_TRUNCATE 15
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_BYTE ((MPI_Datatype)0)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)

#ifdef __cplusplus
extern "C" {
#endif
int MPI_Isend(const void* from, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* to, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int* found, MPI_Status* status);
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Error_class(int code, int* of_class);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
#ifdef __cplusplus
}
#endif
